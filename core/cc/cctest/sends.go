package cctest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/unit"
)

// sendWatch records whether OnSend changes its controller's Decision.
type sendWatch struct {
	cc.Controller
	count   int
	changed error // first change
}

// OnSend counts the packet, and stores an error if the controller's OnSend changes its Decision for the first time.
func (x *sendWatch) OnSend(now unit.Time, s cc.Sent) {
	before := x.Decision()
	x.Controller.OnSend(now, s)
	x.count++
	if after := x.Decision(); after != before && x.changed == nil {
		x.changed = fmt.Errorf("packet %d, at %v, makes %+v of %+v", x.count, now, after, before)
	}
}

// CheckKeepsOnSend plays a story to a controller (Model.PlayStory). It returns the number of sent packets, and an error
// if OnSend changed the controller's Decision (cc.Scheme).
func CheckKeepsOnSend(c cc.Controller, story []byte) (packets int, err error) {
	x := &sendWatch{Controller: c}
	m := Model{Controller: x, OwnRecovery: true, FreeAfterTimeout: true}
	m.PlayStory(story) // the model's own checks are not needed here
	return x.count, x.changed
}
