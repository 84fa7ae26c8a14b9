"""The methods of the service for reviews, verification and landing."""
