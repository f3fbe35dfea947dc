"""Items: what they are, how they come in, and what is measured and drawn of them."""
