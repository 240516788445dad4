package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/rtnl"
)

// cable is a link as a pair of interfaces in the data plane's namespace. No frame crosses it: links carry frames inside
// the data plane, in event time. It has the link's carrier.
type cable struct {
	Link int
	Ends [2]string // interfaces
}

// Lay makes a cable for each of these links. Whoever sets one of its ends down, as ip-link(8) does, takes the link
// down. It must come before Start.
func (l *Network) Lay(links []int) error {
	if len(links) == 0 {
		return nil
	}
	here, err := os.Open(netns.Path(l.set.Name(planeName)))
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	defer here.Close()
	err = l.in(planeName, func(c *rtnl.Conn) error {
		for _, link := range links {
			x := cable{Link: link, Ends: [2]string{fmt.Sprintf("link%da", link), fmt.Sprintf("link%db", link)}}
			mac := func(end byte) [6]byte { return [6]byte{0x02, 0x59, end, byte(link >> 16), byte(link >> 8), byte(link)} }
			if err := c.AddVeth(rtnl.End{Name: x.Ends[0], MAC: mac(0)}, rtnl.End{Name: x.Ends[1], MAC: mac(1)},
				int(here.Fd()), l.mtu); err != nil {
				return err
			}
			for _, end := range x.Ends {
				if _, err := raise(c, end); err != nil {
					return err
				}
			}
			l.cables = append(l.cables, x)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("lab: %w", explain(err))
	}
	return nil
}

// Pull sets the first end of links' cables down and up at the times at which events of the configuration want it, and
// changes the limits of hosts at links whose rate changes, until no event is left or ctx ends.
func (p *DataPlane) Pull(ctx context.Context, c *Config) error {
	index := map[int]int{}
	var conn *rtnl.Conn
	err := netns.Do(p.network.set.Name(planeName), func() (err error) {
		if conn, err = rtnl.Open(); err != nil {
			return err
		}
		for _, x := range p.network.cables {
			i, err := conn.Interface(x.Ends[0])
			if err != nil {
				return err
			}
			index[x.Link] = i.Index
		}
		return nil
	})
	if conn != nil {
		defer conn.Close()
	}
	for i := range c.Wiring.Events {
		e := &c.Wiring.Events[i]
		at, there := index[e.Link]
		if err != nil || ctx.Err() != nil {
			break
		}
		if !e.Rated() && !there {
			continue
		}
		if !sleepUntil(ctx, p.Epoch+int64((c.Lead+e.At)/unit.Nanosecond)) {
			break
		}
		if e.Rated() {
			err = p.network.relimit(c, e)
		} else if e.Down {
			err = conn.Down(at)
		} else {
			err = conn.Up(at)
		}
	}
	if err != nil {
		return fmt.Errorf("lab: cable: %w", err)
	}
	return nil
}

// sleepUntil sleeps until a time of CLOCK_MONOTONIC in ns; false: ctx has ended before.
func sleepUntil(ctx context.Context, at int64) bool {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return false
	}
	timer := time.NewTimer(time.Duration(at - now.Nano()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// carriers is what the data plane knows of its cables; nil: it has none.
type carriers struct {
	watch  *rtnl.Carriers
	cables []plugged
	lost   map[int]bool // by an interface's index
}

// plugged is a cable as the data plane knows it.
type plugged struct {
	link int
	ends [2]int // indices of interfaces
	down bool
}

// watch begins to watch the cables, in the namespace of the calling thread.
func watch(all []cable) (*carriers, error) {
	if len(all) == 0 {
		return nil, nil
	}
	x := &carriers{lost: map[int]bool{}}
	var err error
	if x.watch, err = rtnl.WatchCarriers(); err != nil {
		return nil, err
	}
	c, err := rtnl.Open()
	if err != nil {
		x.close()
		return nil, err
	}
	defer c.Close()
	for _, one := range all {
		p := plugged{link: one.Link}
		for k, name := range one.Ends {
			i, err := c.Interface(name)
			if err != nil {
				x.close()
				return nil, err
			}
			p.ends[k], x.lost[i.Index] = i.Index, !i.Carrier
		}
		x.cables = append(x.cables, p)
	}
	return x, nil
}

func (x *carriers) close() {
	if x != nil {
		x.watch.Close()
	}
}

// fd is readable when read has something to do; -1: there is no cable.
func (x *carriers) fd() int {
	if x == nil {
		return -1
	}
	return x.watch.FD()
}

// read gives the plane the links that have lost their carrier, or have it back, since the last time.
func (x *carriers) read(d *plane) error {
	if x == nil {
		return nil
	}
	if err := x.watch.Read(func(index int, carrier bool) { x.lost[index] = !carrier }); err != nil {
		return fmt.Errorf("carriers: %w", err)
	}
	for i := range x.cables {
		p := &x.cables[i]
		if down := x.lost[p.ends[0]] || x.lost[p.ends[1]]; down != p.down {
			p.down = down
			d.setCarrier(p.link, down)
		}
	}
	return nil
}
