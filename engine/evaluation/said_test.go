package evaluation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCriteriaAboutSpeechAreRecognized(t *testing.T) {
	t.Parallel()
	for criterion, wants := range map[string]bool{
		"The agent says the price":                                              true,
		"The agent must say the price":                                          true,
		"The agent should mention the price":                                    true,
		"The agent told the contact the price":                                  true,
		"The contact is told the price":                                         true,
		"The price is mentioned":                                                true,
		"It mentions the price":                                                 true,
		"The reception tells the price":                                         true,
		"Pricer says what it costs":                                             true,
		"Answer mentions 42":                                                    true,
		"Mentions 42 euro":                                                      true,
		"When asked for a price, mentions 42 euro":                              true,
		"The agent, when asked, tells the price":                                true,
		"If the caller asks, the agent tells the price":                         true,
		"The agent greets the caller, asks for the day, and says the price":     true,
		"Checks the price and tells the contact":                                true,
		"The agent does not only look up but says the price":                    true,
		"The agent explains the fee":                                            true,
		"L’agent dit le prix":                                                   true,
		"Der Agent nennt den Preis":                                             true,
		"The agent has to say which day it is":                                  true,
		"The agent says nothing about prices":                                   false,
		"The agent does not say the price":                                      false,
		"The agent never mentions the price":                                    false,
		"The agent doesn't mention a price":                                     false,
		"Tells the contact nothing about prices":                                false,
		"Der Agent nennt keinen Preis":                                          false,
		"L’agent ne dit pas le prix":                                            false,
		"Books the day that the contact said":                                   false,
		"After the caller says the date, the agent books":                       false,
		"The agent asks the caller to say a name":                               false,
		"The agent does as it is told":                                          false,
		"If the caller gives a name and says the day, an appointment is booked": false,
		"The customer tells the agent a number that the agent looks up":         false,
		"Calls get_price for the product":                                       false,
		"The agent stays friendly":                                              false,
		"The agent checks the statement":                                        false,
		"When the contact mentions a leak, the agent transfers the call":        false,
		"The agent uses the number that he said":                                false,
	} {
		require.Equal(t, wants, wantsSaid(criterion), criterion)
	}
}
