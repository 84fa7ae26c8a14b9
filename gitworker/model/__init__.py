"""The program's data types: ids, enums and frozen records. Nothing here has behaviour."""
