"""From rows to numbers, by public facts alone."""
