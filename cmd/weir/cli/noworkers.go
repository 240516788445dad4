//go:build nojetstream

package cli

import (
	"fmt"

	"weir/study/run"
)

var errNoJetStream = fmt.Errorf("%w: this weir was built without JetStream (-tags nojetstream)", errInput)

// runner is where runs are carried out: here.
func (f *workerFlags) runner(*app, *progressBar, int) (run.Runner, func() error, error) {
	if f.Workers != "" || f.NATS != "" || f.Creds != "" {
		return nil, nil, errNoJetStream
	}
	return nil, nil, f.alone()
}

func (workerCmd) Run(*app) error { return errNoJetStream }
