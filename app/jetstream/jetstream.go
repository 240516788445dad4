// Package jetstream links runs on other machines into a program: weir worker, and --workers and --nats of weir run and
// weir serve.
package jetstream

import (
	"weir/study/workers"
	"weir/study/workers/jetstream"
)

func init() { workers.Remote.Link(jetstream.Driver{}) }
