"""What operators may see: health, metrics, the witness of the ledger."""
