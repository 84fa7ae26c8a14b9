"""The promises of a store, which every backend keeps."""
