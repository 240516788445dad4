package cctest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/unit"
)

// sends is a controller of which it is noted whether OnSend changes its Decision.
type sends struct {
	cc.Controller
	count   int
	changed error // by the first that did
}

func (x *sends) OnSend(now unit.Time, s cc.Sent) {
	before := x.Decision()
	x.Controller.OnSend(now, s)
	x.count++
	if after := x.Decision(); after != before && x.changed == nil {
		x.changed = fmt.Errorf("packet %d, at %v, makes %+v of %+v", x.count, now, after, before)
	}
}

// KeepsOnSend carries a story out (Model.Run), and returns how many packets were sent in it, and an error if one of
// them has changed the controller's Decision (cc.Scheme).
func KeepsOnSend(c cc.Controller, story []byte) (packets int, err error) {
	x := &sends{Controller: c}
	m := Model{Controller: x, Own: true, Free: true}
	m.Run(story) // whether it holds what the model checks is for others to say
	return x.count, x.changed
}
