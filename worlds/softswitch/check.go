package softswitch

import "errors"

// ErrSetup is wrapped by errors about what the switch is to run on: no right, no such
// interface, one that another switch has.
var ErrSetup = errors.New("the switch cannot start")
