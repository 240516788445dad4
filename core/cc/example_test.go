package cc_test

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// config is what an experiment can set: cc: {careful: {keep: 75%}}.
type config struct{ Keep float64 }

// Params binds its fields to the names, defaults and bounds of the parameters.
func (c *config) Params(p *scheme.Params) {
	p.Share(&c.Keep, "keep", "50%", "share of the window that a loss leaves", "an example").Min("10%").Max("99%")
}

// careful adds a packet to the window in each round trip, and keeps a share of it after a loss.
type careful struct {
	window cc.Window
	keep   float64
}

// OnAck grows the window if it is what limits the sender.
func (c *careful) OnAck(_ unit.Time, a *cc.Ack) {
	if a.Advanced && a.Limited && a.Losses.State == cc.Open {
		c.window.AddAcked(float64(c.window.Packets), a.Packets)
	}
}

// OnLoss reduces the window once a round trip.
func (c *careful) OnLoss(_ unit.Time, l cc.Loss) {
	c.window.HandleLoss(l, int(c.keep*float64(c.window.Packets)))
}

func (c *careful) OnSend(unit.Time, cc.Sent)     {}
func (c *careful) OnNotice(unit.Time, cc.Notice) {}
func (c *careful) OnTimer(unit.Time)             {}
func (c *careful) Decision() cc.Decision         { return c.window.Decision() }

// Example writes a controller as a type with six methods and defines it as a scheme that experiments name. Events drive
// it, and Decision returns its window and rate.
func Example() {
	careful := cc.Define(cc.Scheme{Scheme: scheme.Scheme{Name: "careful", Doc: "gives up little", Source: "an example"}},
		func(f cc.Flow, c config) (*careful, error) {
			return &careful{window: cc.NewWindow(f), keep: c.Keep}, nil
		})
	parameters, err := careful.Configure("keep", "75%")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := careful.Build(cc.Flow{MSS: 1000, InitialWindow: 10}, parameters)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("first", c.Decision().Window)
	for range 2 { // two round trips, in which all of the window is acknowledged
		c.OnAck(unit.Millisecond, &cc.Ack{Packets: int(c.Decision().Window / 1000), Advanced: true, Limited: true})
	}
	fmt.Println("grown", c.Decision().Window)
	c.OnLoss(2*unit.Millisecond, cc.Loss{Kind: cc.FastRecovery, InFlight: 12, Lost: 1})
	fmt.Println("after a loss", c.Decision().Window)
	_, err = careful.Configure("keep", "0%")
	fmt.Println(err)
	// Output:
	// first 10kB
	// grown 12kB
	// after a loss 9kB
	// careful: keep is 0%; allowed: at least 10%
}
