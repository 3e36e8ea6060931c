"""An HTTP server for one model: rows in, predictions with intervals out."""
