package p4te

import "embed"

// Experiments are those of the paper, and those that go beyond it, for an
// experiment.Library.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS
