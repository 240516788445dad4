package ai

import "embed"

// Experiments are those of fabrics for training, for an experiment.Library.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS
