"""Tags: words that analysts put on items to find them again, such as "check" or "two birds".

- tag: such a word; an item has any number of them, and a tag is there as long as an item has it
- runs take no notice of tags; they are in lists, exports and archives, and items are filtered by them
"""
