package softswitch

import (
	"fmt"

	"weir/core/unit"
	"weir/worlds/live"
	"weir/worlds/switch/frames"
)

// plane is a bridge with the state that a reload changes.
type plane struct {
	bridge *live.Bridge
	config *Config
	users  *frames.Users
	// refusals drops frames that are too long.
	refusals *frames.Refusals
	running  []running
}

// reload changes to another configuration between two packets. The notes describe the change for each program and
// port. After an error the plane is unchanged. The parts that CheckReload compares must be equal. It keeps the MTUs
// in c.
func (p *plane) reload(now unit.Time, c *Config) (notes []string, err error) {
	c.mtus = p.config.mtus
	if err := p.config.CheckReload(c); err != nil {
		return nil, err
	}
	p.users.DeclareCustomers(&c.Users)
	defer func() {
		if err != nil {
			p.users.DeclareCustomers(&p.config.Users)
		}
	}()
	list, notes, err := replacePrograms(now, p.bridge.Site(c.bridgePorts()), p.running, c.Programs)
	if err != nil {
		return nil, err
	}
	was := p.running
	p.running = list
	if err := p.bridge.SetPrograms(now, listPrograms(p.running, p.refusals)); err != nil {
		p.running = was
		return nil, err
	}
	for i, l := range c.bridgePorts() {
		if old := p.config.bridgePorts()[i]; old != l {
			notes = append(notes, fmt.Sprintf("port %s has another rate, buffer or queue", l.Name))
		}
	}
	p.bridge.SetPorts(c.bridgePorts())
	p.users.ApplyRules(&c.Users)
	p.config = c
	return notes, nil
}
