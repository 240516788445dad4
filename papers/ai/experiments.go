package ai

import "embed"

// Experiments are those of fabrics for training, for a spec.Library.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS
