package cli

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/bind"
	"weir/internal/command"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/page/live"
	"weir/study/report"
	"weir/study/results"
)

type serveCmd struct {
	Files  []string       `arg:"" optional:"" name:"file" help:"${serveFiles}"`
	Out    command.Target `default:"results" help:"${serveOut}"`
	Listen string         `default:"127.0.0.1:8100" placeholder:"ADDR" help:"${serveListen}"`
	Host   []string       `placeholder:"NAME" help:"${serveHost}"`
	workerFlags
}

// Run serves the page until it is interrupted. It prints the page's address to standard output.
func (c *serveCmd) Run(a *app) error {
	listens, err := c.listenAddress()
	if err != nil {
		return err
	}
	for _, f := range c.Files {
		if _, err := a.registry.OpenExperiment(f); err != nil {
			return err
		}
	}
	out, err := filepath.Abs(string(c.Out))
	if err != nil {
		return err
	}
	newPage, err := live.Page.Get()
	if err != nil {
		return err
	}
	o := live.Options{Registry: a.registry, Files: c.Files, ResultsDir: out, Executable: revision.Executable(),
		Version: version(), Hosts: c.Host, Machine: a.machine.total,
		Jobs: func(s *experiment.Spec) (int, string, error) { return a.machine.limitJobs(s, 0) },
		Report: func(o *results.Outcome) error {
			_, err := report.WriteReport(o, report.Page{Version: version()})
			return err
		},
	}
	if err := c.workerFlags.setUpPage(a, &o, string(c.Out)); err != nil {
		return err
	}
	signals := handleSignals(a.screen, grace{serveGrace, 0, cutNothing, aborted + goesOn})
	defer signals.stop()
	s, err := newPage(o)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := bind.Listen(listens)
	if err != nil {
		return fmt.Errorf("%w: --listen: %w; --listen 127.0.0.1:0 uses any free port", command.ErrInput, err)
	}
	a.warn(listenWarnings(l.Addr().String())...)
	fmt.Fprintf(a.stdout, "%s\n", s.Address(l.Addr()))
	fmt.Fprintf(a.stderr, "results are in %s; Ctrl-C stops the server, and finished runs are kept\n", out)
	return s.Serve(signals, l)
}

// serveGrace limits the time in which requests in flight may end.
var serveGrace = 5 * time.Second

// listenAddress returns the address to listen at, and checks the names of --host. It rejects all interfaces at once:
// anyone who sees the traffic and has the token could start simulations.
func (c *serveCmd) listenAddress() (string, error) {
	var every *bind.EveryAddressError
	switch _, err := bind.ParseHost(c.Listen); {
	case errors.As(err, &every):
		_, port, _ := net.SplitHostPort(c.Listen)
		return "", fmt.Errorf("%w: --listen: %w; name one address, such as 127.0.0.1:%s", command.ErrInput, err, port)
	case err != nil:
		return "", fmt.Errorf("%w: --listen: %w, such as 127.0.0.1:8100", command.ErrInput, err)
	}
	for _, name := range c.Host {
		if name == "" || strings.ContainsAny(name, ":/ *") {
			return "", fmt.Errorf("%w: --host: %q is not a host name; a name such as lab.example.org is allowed",
				command.ErrInput, name)
		}
	}
	return c.Listen, nil
}
