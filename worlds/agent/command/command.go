// Package command is the command weir agent, which is also the program weir-agent.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/core/unit"
	"weir/internal/bind"
	"weir/internal/command"
	"weir/internal/webserver"
	"weir/worlds/agent"
)

// Agent is command.Agent.
type Agent struct{}

// flags are the flags of the command.
type flags struct{ *command.AgentFlags }

// minEvery is the shortest time between two tables.
const minEvery = 10 * time.Millisecond

// buildConfig converts the flags to a configuration. Flags that are not given keep agent.DefaultConfig. The error
// lists all wrong flags.
func (c flags) buildConfig() (x agent.Config, err error) {
	x = agent.DefaultConfig()
	x.Interface, x.Cgroup, x.Follow = c.Interface, c.Cgroup, c.Follow
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	must(c.Interface != "" || c.Cgroup != "", "--interface NAME or --cgroup PATH is missing; give one of them")
	must(c.Every == 0 || c.Every >= minEvery, "--every %v is too short; allowed: 0s (no table), or %v and more", c.Every,
		minEvery)
	if c.Flows != nil {
		x.Flows = *c.Flows
	}
	if c.MaxStage != nil {
		x.MaxStage = *c.MaxStage
	}
	if c.Nacks != nil {
		x.Nacks = *c.Nacks
		must(x.Nacks != "", "--nacks is empty; allowed: %s, %s", agent.NacksLoss, agent.NacksSupply)
	}
	number := func(flag string, text *string, parse func(string) (more bool, err error), minimum string) {
		if text == nil {
			return
		}
		more, err := parse(*text)
		must(err == nil, "--%s: %w", flag, err)
		must(err != nil || more, "--%s %s is too small; allowed: above %s", flag, *text, minimum)
	}
	number("eta", c.Eta, func(s string) (bool, error) {
		v, err := unit.ParseShare(s)
		if err == nil {
			x.Eta = v
		}
		return true, err
	}, "0")
	number("increase", c.Increase, func(s string) (_ bool, err error) {
		x.Increase, err = unit.ParseBytes(s)
		return x.Increase != 0, err
	}, "0B")
	number("rtt", c.RTT, func(s string) (_ bool, err error) {
		x.RTT, err = unit.ParseTime(s)
		return x.RTT != 0, err
	}, "0s")
	number("rate", c.Rate, func(s string) (_ bool, err error) {
		x.Rate, err = unit.ParseRate(s)
		return x.Rate != 0, err
	}, "0bps")
	must(c.Flows == nil || c.Increase == nil, "--flows and --increase exclude each other; give one of them")
	if c.Follow == agent.NCF {
		ignored := c.hpccFlags()
		must(len(ignored) == 0, "%s: no effect with --follow ncf; use --follow hpcc or both",
			strings.Join(ignored, ", "))
	}
	for _, p := range x.ListProblems() {
		must(false, "--%s: %s", command.FlagName(p.Field), p.Text)
	}
	return x, errors.Join(errs...)
}

// hpccFlags returns the given flags that apply to HPCC++ only.
func (c flags) hpccFlags() (flags []string) {
	for _, x := range []struct {
		flag  string
		given bool
	}{{"--eta", c.Eta != nil}, {"--flows", c.Flows != nil}, {"--max-stage", c.MaxStage != nil},
		{"--increase", c.Increase != nil}, {"--rtt", c.RTT != nil}, {"--rate", c.Rate != nil}} {
		if x.given {
			flags = append(flags, x.flag)
		}
	}
	return flags
}

// Run runs the agent until it is interrupted, with metrics and tables as the flags demand. It writes tables to e.Stdout
// and notes to e.Stderr. Wrong flags are command.ErrInput.
func (Agent) Run(f *command.AgentFlags, e *command.Environment) error {
	c := flags{f}
	config, err := c.buildConfig()
	if err != nil {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var listener net.Listener
	if c.Metrics != "" {
		if listener, err = bind.Listen(c.Metrics); err != nil {
			return fmt.Errorf("%w: --metrics: %w", command.ErrInput, err)
		}
		defer listener.Close()
		e.Warn(command.MetricsWarnings(listener.Addr().String())...)
	}
	x, err := agent.Start(config)
	if errors.Is(err, agent.ErrConfig) {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	if err != nil {
		return err
	}
	s := &monitor{agent: x, version: e.Version, nacks: config.Follow == agent.NCF || config.Follow == agent.Both,
		notes: e.Stderr}
	err = errors.Join(s.showConnections(ctx, c.Every, listener, e.Stdout, func() {
		fmt.Fprintf(e.Stderr, "%s at %s; press Ctrl-C to stop\n",
			describeAgent(config, x), strings.Join(x.Interfaces, ", "))
		if listener != nil {
			fmt.Fprintf(e.Stderr, "metrics: http://%v/metrics\n", listener.Addr())
		}
	}), s.closeAgent())
	return err
}

// describeAgent describes which connections follow HPCC++, NACKs or both.
func describeAgent(c agent.Config, x *agent.Agent) string {
	hpcc := x.Controller + " is available to new connections over IPv6"
	nacks := "NACKs count as losses for all connections"
	if c.Nacks == agent.NacksSupply {
		nacks = "NACKs limit all connections to the offered rate"
	}
	switch c.Follow {
	case agent.NCF:
		return nacks
	case agent.Both:
		return hpcc + ", and " + nacks
	}
	return hpcc
}

// monitor makes an agent safe for concurrent use and shows its connections.
type monitor struct {
	mu      sync.Mutex
	agent   *agent.Agent
	version string // of the program
	nacks   bool   // NACKs are followed
	notes   io.Writer
}

// countStrays returns the number of stray NACKs.
func (s *monitor) countStrays() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent.CountStrays()
}

// listConnections returns the agent's connections.
func (s *monitor) listConnections() ([]agent.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent.AppendConnections(nil)
}

// closeAgent closes the agent.
func (s *monitor) closeAgent() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent.Close()
}

// showConnections writes the connections to to once per every, 0 for never, and serves metrics at listener unless it
// is nil. It calls ready when metrics are served. It returns nil when the context ends, and the error of a failed
// look-up, write or interface check.
func (s *monitor) showConnections(ctx context.Context, every time.Duration, listener net.Listener, to io.Writer,
	ready func()) error {
	if listener != nil {
		strays := s.countStrays
		if !s.nacks {
			strays = nil
		}
		h, err := agent.NewHandler(s.version, s.listConnections, strays)
		if err != nil {
			return err
		}
		server := webserver.New(h)
		server.WriteTimeout = 10 * time.Second
		go server.Serve(webserver.LimitConnections(listener, webserver.MaxConnections))
		defer server.Close()
	}
	ready()
	looks := time.NewTicker(checkPeriod)
	defer looks.Stop()
	var ticks <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		ticks = t.C
	}
	for shown := -1; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
			if err := s.reportGone(); err != nil {
				return err
			}
			continue
		case <-ticks:
		}
		all, err := s.listConnections()
		if err != nil {
			return err
		}
		if len(all) > 0 {
			err = agent.WriteTable(to, all)
		} else if shown != 0 {
			_, err = fmt.Fprintln(to, "no connections")
		}
		if err != nil {
			return err
		}
		shown = len(all)
	}
}

// checkPeriod is the time between two checks of the interfaces.
const checkPeriod = 250 * time.Millisecond

// reportGone reports interfaces that are gone to s.notes. It fails if no interface is left.
func (s *monitor) reportGone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone, err := s.agent.RemoveGone()
	if err == nil && len(gone) > 0 {
		_, err = fmt.Fprintf(s.notes, "interface %s has disappeared; remaining interfaces: %s\n", strings.Join(gone, ", "),
			strings.Join(s.agent.Interfaces, ", "))
	}
	return err
}
