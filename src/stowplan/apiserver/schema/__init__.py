"""The types of the API as data: fields, lists and their merge keys, read from the model library. No requests here."""
