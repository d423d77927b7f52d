"""The page at /: budget, history, plan and a form, rendered on the server; htmx renews its parts."""
