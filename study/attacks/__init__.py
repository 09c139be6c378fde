"""Natural misuse and hard designs: results that cover the truth, refuse, say their doubt, or miss."""
