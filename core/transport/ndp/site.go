package ndp

import (
	"weir/core/cc"
	"weir/core/scheme"
)

// Suits warns of switches that do not do what the transport is made for.
func (c *Config) Suits(s *cc.Site) (all []scheme.Remark) {
	if s.Lossless == "" && !s.Trims {
		all = append(all, cc.Remark("", "no switch trims packets (program ndp or trimming): nothing but a timeout tells of "+
			"one that is lost"))
	}
	return all
}
