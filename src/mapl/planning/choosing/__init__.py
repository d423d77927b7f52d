"""From expected votes to a calibrated mechanism: candidates, forecasts, the choice."""
