"""Pictures as inline SVG."""
