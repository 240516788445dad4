package p4te

import "embed"

// Experiments holds the paper's experiments and further ones, for an experiment.Library.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS
