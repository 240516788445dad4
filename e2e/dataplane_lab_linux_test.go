//go:build lab

package e2e

import (
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/app"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
)

// TestDataPlane_CarriesKernelTCPInLab runs the file of figure 5 in the lab. Each run of its quick variant has a
// data plane with its own switches and programs, which carries a kernel's TCP.
func TestDataPlane_CarriesKernelTCPInLab(t *testing.T) {
	needRoot(t)
	registry := app.Registry()
	s := runtest.Load(t, registry, "p4abc/fig5", experiment.Options{Quick: true})
	for index, r := range plan.ListRunsOn(s, experiment.Lab) {
		c, err := run.LabConfig(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(measure.PointName(r.Point), func(t *testing.T) {
			realtime.Test(t, func(try *realtime.Try) { carryTCP(try, c, index) })
		})
	}
}

// carryTCP makes a data plane of a run of figure 5 carry a kernel's TCP for a second.
func carryTCP(try *realtime.Try, c *lab.Config, index int) {
	l, err := lab.Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		try.Fatal(err)
	}
	try.Cleanup(func() {
		if err := l.Close(); err != nil {
			try.Error(err)
		}
	})
	p, err := l.Start(exec.Command(await.RequireProgram(try, "cmd/weir"), "lab-dataplane", "p4abc/fig5", "--quick",
		"--index",
		strconv.Itoa(index)))
	if err != nil {
		try.Fatal(err)
	}
	got, err := sendFor(l, c, time.Second)
	r, stopped := p.Stop()
	if err = errors.Join(err, stopped); err != nil {
		try.Fatal(err)
	}
	try.Logf("%.1f Mb/s; %v", got/1e6, r)
	try.NoteDisturbed(r.DisturbedStrictly(nil, 20*unit.Millisecond)...)
	if len(r.Errors()) > 0 || r.Counts.NonIP > 0 || len(r.Ports) != 2*len(c.Wiring.Network.Links) {
		try.Errorf("%v, %+v, %d ports", r.Errors(), r.Counts, len(r.Ports))
	}
	if got < 5e6 {
		try.Errorf("%.1f of 50 Mb/s went through", got/1e6)
	}
}

// sendFor sends from the first host to the last one by TCP. It returns the received rate in bit/s.
func sendFor(l *lab.Network, c *lab.Config, length time.Duration) (float64, error) {
	first, last := -1, 0
	for i, n := range c.Wiring.Network.Nodes {
		if !n.Switch {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	var listener net.Listener
	err := l.Do(last, func() (err error) {
		listener, err = net.Listen("tcp", netip.AddrPortFrom(c.Wiring.Hosts.V4(packet.Addr(last+1)), 5001).String())
		return err
	})
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	var out net.Conn
	err = l.Do(first, func() (err error) {
		out, err = net.DialTimeout("tcp", listener.Addr().String(), 5*time.Second)
		return err
	})
	if err != nil {
		return 0, err
	}
	defer out.Close()
	in, err := listener.Accept()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	end := time.Now().Add(length)
	out.SetDeadline(end)
	in.SetDeadline(end)
	go func() {
		for b := []byte(strings.Repeat("weir", 4096)); ; {
			if _, err := out.Write(b); err != nil {
				return
			}
		}
	}()
	sum, b := 0, make([]byte, 1<<16)
	for {
		n, err := in.Read(b)
		if sum += n; err != nil {
			return 8 * float64(sum) / length.Seconds(), nil
		}
	}
}
