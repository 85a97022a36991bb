"""From a study to what people look at: files of tables, figures, and one HTML page."""
