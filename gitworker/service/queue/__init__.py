"""The methods of the service for planned work: the queue of tasks."""
