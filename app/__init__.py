"""The Tercet service: it asks, stores answers, refits clusters and shows them."""
