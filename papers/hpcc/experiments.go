package hpcc

import "embed"

// Experiments holds the experiments of the paper and the drafts, for an experiment.Library.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS
