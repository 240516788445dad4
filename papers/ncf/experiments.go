package ncf

import "embed"

// Experiments holds the experiments of the paper and of the drafts, for an experiment.Library.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS
