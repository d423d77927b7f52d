"""A private choice among methods: which are compared, by which units."""
