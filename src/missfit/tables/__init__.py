"""Every table enters here: arrays, frames, files and chunks of rows."""
