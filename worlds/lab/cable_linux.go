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

// cable is a pair of interfaces in the data plane's namespace that stands for a link. It carries no frames, since
// links carry them inside the data plane in event time. It only has the link's carrier.
type cable struct {
	Link int
	Ends [2]string // interfaces
}

// LayCables creates a cable for each of the links. Setting one of its ends down, for example with ip-link(8), takes the
// link down. LayCables must precede Start, which passes the cables to the data plane.
func (l *Network) LayCables(links []int) error {
	if len(links) == 0 {
		return nil
	}
	here, err := os.Open(netns.Path(l.set.Name(planeName)))
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	defer here.Close()
	err = l.doInNamespace(planeName, func(c *rtnl.Conn) error {
		for _, link := range links {
			x := cable{Link: link, Ends: [2]string{fmt.Sprintf("link%da", link), fmt.Sprintf("link%db", link)}}
			mac := func(end byte) [6]byte { return [6]byte{0x02, 0x59, end, byte(link >> 16), byte(link >> 8), byte(link)} }
			if err := c.AddVeth(rtnl.End{Name: x.Ends[0], MAC: mac(0)}, rtnl.End{Name: x.Ends[1], MAC: mac(1)},
				int(here.Fd()), l.mtu); err != nil {
				return err
			}
			for _, end := range x.Ends {
				if _, err := setUpInterface(c, end); err != nil {
					return err
				}
			}
			l.cables = append(l.cables, x)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("lab: %w", explainError(err))
	}
	return nil
}

// PullCables applies the events of the configuration in real time until the last event or the end of ctx, which is no
// error. It sets the first end of a link's cable down or up, and changes the limits of hosts at links with a new rate.
// It blocks meanwhile.
func (p *DataPlane) PullCables(ctx context.Context, c *Config) error {
	index := map[int]int{}
	var conn *rtnl.Conn
	err := netns.Do(p.network.set.Name(planeName), func() (err error) {
		if conn, err = rtnl.Open(); err != nil {
			return err
		}
		for _, x := range p.network.cables {
			i, err := conn.InterfaceByName(x.Ends[0])
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
		end, hasCable := index[e.Link]
		if err != nil || ctx.Err() != nil {
			break
		}
		if !e.ChangesRate() && !hasCable {
			continue
		}
		if !sleepUntil(ctx, p.Epoch+int64((c.Lead+e.At)/unit.Nanosecond)) {
			break
		}
		if e.ChangesRate() {
			err = p.network.updateLimits(c, e)
		} else if e.Down {
			err = conn.SetDown(end)
		} else {
			err = conn.SetUp(end)
		}
	}
	if err != nil {
		return fmt.Errorf("lab: cable: %w", err)
	}
	return nil
}

// sleepUntil sleeps until a time of CLOCK_MONOTONIC in ns. It returns false if ctx ends first.
func sleepUntil(ctx context.Context, until int64) bool {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return false
	}
	timer := time.NewTimer(time.Duration(until - now.Nano()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// carrierWatch follows the carriers of the data plane's cables. A nil pointer has no cables.
type carrierWatch struct {
	watch  *rtnl.Carriers
	cables []watchedCable
	lost   map[int]bool // by interface index: the interface has no carrier
}

// watchedCable is the state of a cable in carrierWatch.
type watchedCable struct {
	// link is the index of the link.
	link int
	ends [2]int // interface indices
	down bool
}

// watchCables starts to watch cables in the calling thread's network namespace. It returns nil without cables.
func watchCables(all []cable) (*carrierWatch, error) {
	if len(all) == 0 {
		return nil, nil
	}
	x := &carrierWatch{lost: map[int]bool{}}
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
		p := watchedCable{link: one.Link}
		for k, name := range one.Ends {
			i, err := c.InterfaceByName(name)
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

// close stops watching.
func (x *carrierWatch) close() {
	if x != nil {
		x.watch.Close()
	}
}

// descriptor returns a descriptor that becomes readable when applyChanges has work, or -1 without cables.
func (x *carrierWatch) descriptor() int {
	if x == nil {
		return -1
	}
	return x.watch.FD()
}

// applyChanges passes the carrier changes since the last call to the plane d. A link is down while one of its ends
// has no carrier.
func (x *carrierWatch) applyChanges(d *plane) error {
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
