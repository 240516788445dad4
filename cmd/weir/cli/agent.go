package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/core/unit"
	"weir/worlds/agent"
)

type agentCmd struct {
	Interface string        `placeholder:"NAME" help:"Connections through this interface; without it, through all."`
	Cgroup    string        `placeholder:"PATH" help:"Connections of programs in this cgroup; without it, of all."`
	Metrics   string        `placeholder:"ADDR" help:"Serve metrics at this address and port, as http://ADDR/metrics."`
	Eta       string        `default:"95%" help:"Target utilisation (draft-miao §4.1)."`
	Flows     int           `default:"8" help:"Flows expected on a link: W_ai is W_init·(1−eta)/flows (draft-miao §5)."`
	Increase  string        `placeholder:"BYTES" help:"W_ai, in place of that rule."`
	RTT       string        `name:"rtt" placeholder:"TIME" help:"T, the empty path's round trip; else the least measured."`
	Rate      string        `placeholder:"RATE" help:"Of this host's link, the most that receivers can claim; else any."`
	Every     time.Duration `default:"1s" help:"How often connections are shown; 0s: never."`
}

func (c *agentCmd) config() (x agent.Config, err error) {
	x = agent.Defaults()
	x.Interface, x.Cgroup, x.Flows = c.Interface, c.Cgroup, c.Flows
	if c.Interface == "" && c.Cgroup == "" {
		return x, errors.New("--interface NAME or --cgroup PATH is missing")
	}
	if c.Every < 0 {
		return x, fmt.Errorf("--every %v; 0s or more are possible", c.Every)
	}
	read := func(flag, text string, parse func() error) {
		if text == "" || err != nil {
			return
		}
		if err = parse(); err != nil {
			err = fmt.Errorf("--%s: %w", flag, err)
		}
	}
	read("eta", c.Eta, func() error { x.Eta, err = unit.ParseShare(c.Eta); return err })
	read("increase", c.Increase, func() error { x.Increase, err = unit.ParseBytes(c.Increase); return err })
	read("rtt", c.RTT, func() error { x.RTT, err = unit.ParseTime(c.RTT); return err })
	read("rate", c.Rate, func() error { x.Rate, err = unit.ParseRate(c.Rate); return err })
	return x, err
}

func (c *agentCmd) Run(a *app) error {
	config, err := c.config()
	if err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var listener net.Listener
	if c.Metrics != "" {
		if listener, err = net.Listen("tcp", c.Metrics); err != nil {
			return fmt.Errorf("%w: --metrics: %w", errInput, err)
		}
		defer listener.Close()
	}
	x, err := agent.Start(config)
	if errors.Is(err, agent.ErrConfig) {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	if err != nil {
		return err
	}
	s := &shownAgent{agent: x}
	err = errors.Join(s.run(ctx, c.Every, listener, a.stdout, func() {
		fmt.Fprintf(a.stderr, "%s is there for new connections over IPv6 through %s; Ctrl-C ends it\n", x.Controller,
			strings.Join(x.Interfaces, ", "))
		if listener != nil {
			fmt.Fprintf(a.stderr, "metrics are at http://%v/metrics\n", listener.Addr())
		}
	}), s.close())
	return err
}

// shownAgent is an agent that is asked from several goroutines.
type shownAgent struct {
	mu    sync.Mutex
	agent *agent.Agent
}

func (s *shownAgent) connections() ([]agent.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent.Connections(nil)
}

func (s *shownAgent) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent.Close()
}

// run shows connections until the context ends.
func (s *shownAgent) run(ctx context.Context, every time.Duration, listener net.Listener, to io.Writer,
	ready func()) error {
	if listener != nil {
		h, err := agent.Handler(version(), s.connections)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
			WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
		go server.Serve(listener)
		defer server.Close()
	}
	ready()
	if every == 0 {
		<-ctx.Done()
		return nil
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for shown := -1; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		all, err := s.connections()
		if err != nil {
			return err
		}
		if len(all) > 0 {
			err = agent.Table(to, all)
		} else if shown != 0 {
			_, err = fmt.Fprintln(to, "no connections yet")
		}
		if err != nil {
			return err
		}
		shown = len(all)
	}
}
