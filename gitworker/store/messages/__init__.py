"""The bus as stored: messages, cursors, deliveries, log positions, archives."""
