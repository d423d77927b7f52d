"""What keeps a fit from spending by surprise."""
