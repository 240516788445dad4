package cli

import (
	"fmt"
	"time"
)

// serverFlags name a server of NATS that is there.
type serverFlags struct {
	NATS  string `name:"nats" placeholder:"URL" help:"Use the NATS servers at this URL, with JetStream."`
	Creds string `placeholder:"FILE" help:"Credentials for --nats, as NATS has them (.creds)."`
}

// workerFlags are those of weir run for runs that other machines carry out.
type workerFlags struct {
	Workers string `placeholder:"ADDR" help:"${runWorkers}"`
	serverFlags
	NoOwn   bool   `name:"no-own" help:"Workers: carry out no runs here."`
	Metrics string `placeholder:"ADDR" help:"Workers: serve metrics, as http://ADDR/metrics."`
	Verify  string `enum:"sample,all" default:"sample" help:"${runVerify}"`
}

// alone says which of the flags have no meaning without workers.
func (f *workerFlags) alone() error {
	if f.NoOwn || f.Metrics != "" {
		return fmt.Errorf("%w: --no-own and --metrics are for --workers and --nats", errInput)
	}
	if f.Verify == "all" {
		return fmt.Errorf("%w: --verify is for --workers and --nats", errInput)
	}
	return nil
}

type workerCmd struct {
	Join string `placeholder:"FILE" help:"What weir run --workers has written to join with."`
	serverFlags
	Jobs   int           `help:"Runs at a time; 0 means one a core."`
	Memory float64       `placeholder:"MB" help:"For a run, at most; 0 means what is available, divided by --jobs."`
	Time   time.Duration `placeholder:"DURATION" help:"A run may take so long; 0 means no limit."`
	Disk   float64       `placeholder:"MB" help:"An input or a result may be so large; 0 means no limit."`
	Name   string        `help:"For people; host and process if it is not given."`
}
