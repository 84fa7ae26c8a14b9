"""What the program talks about, as data: ids, enums, frozen records. No behaviour lives here."""
