//go:build nojetstream

package cli

import (
	"fmt"

	"weir/study/page"
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

// paged leaves the jobs of weir serve to be carried out here.
func (f *workerFlags) paged(*app, *page.Options, string) error {
	_, _, err := f.runner(nil, nil, 0)
	return err
}

func (workerCmd) Run(*app) error { return errNoJetStream }
