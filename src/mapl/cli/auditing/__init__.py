"""The verb that attacks mechanisms and finished set-ups."""
