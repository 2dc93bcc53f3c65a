"""The version of this package; its only home, the build reads it here."""

VERSION = "0.1.0"
