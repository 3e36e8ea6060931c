"""Fitted models as ONNX graphs that predict the same, whatever is missing in a row."""
