//! Checks a `[[model]]` table beyond its types.

use nightshift_engine::hosts::is_loopback;
use url::Url;

use super::{ModelConfig, ModelProvider, Sampling};
use crate::ModelError;

impl ModelConfig {
    /// Checks that the values fit together.
    ///
    /// # Errors
    ///
    /// Returns an error that names the key, the problem and a valid value.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.name.trim().is_empty() {
            return Err(self.invalid_value(
                "name",
                "is empty: give the model a name that profiles can ask for",
            ));
        }
        if self.model.trim().is_empty() {
            return Err(
                self.invalid_value("model", "is empty: name the model as its provider does")
            );
        }
        if let Some(url) = &self.base_url {
            self.check_base_url(url)?;
        }
        if self.server.is_some() && self.provider != ModelProvider::Openai {
            return Err(
                self.invalid_value("server", "is for provider `openai` alone: leave it out")
            );
        }
        if self.stream == Some(true) && self.provider == ModelProvider::Bedrock {
            return Err(self.invalid_value(
                "stream",
                "is true, but Bedrock answers in one piece here: leave it out",
            ));
        }
        self.check_proxy()?;
        self.check_price()?;
        self.check_numbers()?;
        for sampling in [
            &Sampling {
                temperature: self.temperature,
                top_p: self.top_p,
                reasoning_effort: None,
            },
            &self.questions.plan,
            &self.questions.turn,
            &self.questions.decide,
            &self.questions.reflect,
            &self.questions.conclude,
        ] {
            self.check_sampling(sampling)?;
        }
        self.check_headers()
    }

    fn check_base_url(&self, text: &str) -> Result<(), ModelError> {
        let url = Url::parse(text).map_err(|error| {
            self.invalid_value(
                "base_url",
                format!("{text:?} is no URL ({error}): write https://HOST/…"),
            )
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(self.invalid_value(
                "base_url",
                "holds a user or password: put the key into `api_key`",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(self.invalid_value("base_url", "holds a query or fragment: end it at the path, and put the API's version into `api_version`"));
        }
        match url.scheme() {
            "https" => Ok(()),
            "http" if self.allow_private || url.host_str().is_some_and(is_loopback) => Ok(()),
            "http" => Err(self.invalid_value(
                "base_url",
                format!("{text:?} would send alert data unencrypted: use https, or say `allow_private = true`"),
            )),
            other => Err(self.invalid_value("base_url", format!("scheme {other:?}: use https"))),
        }
    }

    fn check_proxy(&self) -> Result<(), ModelError> {
        let Some(proxy) = self.proxy.as_deref().filter(|proxy| *proxy != "none") else {
            return Ok(());
        };
        // The value itself is not shown, because proxy URLs often contain passwords.
        match Url::parse(proxy) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => Ok(()),
            _ => Err(self.invalid_value(
                "proxy",
                "is no URL of a proxy: write http://HOST:PORT, or `none`",
            )),
        }
    }

    fn check_price(&self) -> Result<(), ModelError> {
        let Some(price) = self.price else {
            return Ok(());
        };
        for value in [
            Some(price.input),
            price.cached_input,
            price.cache_write,
            Some(price.output),
        ]
        .into_iter()
        .flatten()
        {
            if !value.is_finite() || value < 0.0 {
                return Err(self.invalid_value(
                    "price",
                    format!("{value} is no price: write US dollars per million tokens, 0 or more"),
                ));
            }
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), ModelError> {
        let counts: [(&'static str, Option<u64>); 6] = [
            ("window_tokens", self.window_tokens),
            ("max_output_tokens", self.max_output_tokens.map(u64::from)),
            (
                "requests_per_minute",
                self.requests_per_minute.map(u64::from),
            ),
            ("tokens_per_minute", self.tokens_per_minute.map(u64::from)),
            ("concurrent", self.concurrent.map(u64::from)),
            ("request_secs", self.request_secs),
        ];
        for (key, value) in counts {
            if value == Some(0) {
                return Err(self.invalid_value(key, "is 0: leave it out for the default"));
            }
        }
        if self.region.is_some() && self.provider != ModelProvider::Bedrock {
            return Err(self.invalid_value(
                "region",
                "only Bedrock has one: name the place in `base_url`",
            ));
        }
        Ok(())
    }

    fn check_sampling(&self, sampling: &Sampling) -> Result<(), ModelError> {
        if sampling
            .temperature
            .is_some_and(|value| !(0.0..=2.0).contains(&value))
        {
            return Err(self.invalid_value("temperature", "write a number from 0 to 2"));
        }
        if sampling
            .top_p
            .is_some_and(|value| !(0.0..=1.0).contains(&value))
        {
            return Err(self.invalid_value("top_p", "write a number from 0 to 1"));
        }
        Ok(())
    }

    fn check_headers(&self) -> Result<(), ModelError> {
        for (name, value) in &self.headers {
            if reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_err()
                || reqwest::header::HeaderValue::from_str(value).is_err()
            {
                return Err(self.invalid_value(
                    "headers",
                    format!("{name:?} is no header that HTTP can carry"),
                ));
            }
            if matches!(
                name.to_ascii_lowercase().as_str(),
                "authorization" | "x-api-key" | "api-key" | "x-goog-api-key"
            ) {
                return Err(self.invalid_value(
                    "headers",
                    format!("{name:?} would show a key in logs: use `api_key`"),
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn invalid_value(
        &self,
        key: &'static str,
        problem: impl Into<String>,
    ) -> ModelError {
        ModelError::BadValue {
            name: self.name.clone(),
            key,
            problem: problem.into(),
        }
    }
}
