package server

import (
	"errors"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/model"
)

// priceFlags are the prices of simulated chats and test runs, in credits with at most six decimals.
type priceFlags struct {
	PriceMessage      model.Credits
	PriceInputTokens  model.Credits
	PriceOutputTokens model.Credits
}

func (f *priceFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.PriceMessage, Name: "price-message", Env: "AGENTGRAPH_PRICE_MESSAGE", Default: "0.01", Placeholder: "CREDITS", Help: "Price of a message that an agent writes in a simulated chat or a test."},
		{Into: &f.PriceInputTokens, Name: "price-input-tokens", Env: "AGENTGRAPH_PRICE_INPUT_TOKENS", Default: "0.002", Placeholder: "CREDITS", Help: "Price of a thousand tokens that language models read for it."},
		{Into: &f.PriceOutputTokens, Name: "price-output-tokens", Env: "AGENTGRAPH_PRICE_OUTPUT_TOKENS", Default: "0.008", Placeholder: "CREDITS", Help: "Price of a thousand tokens that language models write for it."},
	}
}

// Validate refuses negative prices, and those above the maximum of one entry.
func (f priceFlags) Validate() error {
	for _, price := range []model.Credits{f.PriceMessage, f.PriceInputTokens, f.PriceOutputTokens} {
		if price < 0 || price > model.MaxEntryCredits {
			return errors.New("--price-message, --price-input-tokens and --price-output-tokens must be between 0 and " + model.MaxEntryCredits.String())
		}
	}
	return nil
}

func (f priceFlags) prices() model.Prices {
	return model.Prices{Message: f.PriceMessage, InputTokens: f.PriceInputTokens, OutputTokens: f.PriceOutputTokens}
}
