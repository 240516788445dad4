package ai

import "embed"

// Experiments holds the experiments on fabrics for training, for an experiment.Library.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS
