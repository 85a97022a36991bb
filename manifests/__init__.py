"""The shared words of provenance: canonical bytes, digests, manifests, fingerprints, errors."""
