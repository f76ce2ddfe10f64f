//! Adds actors: credentials, users and roles, and the values that one record holds together.

use serde_json::Value;

use super::{Draft, canonical_name};
use crate::caller::CallRecord;
use crate::feed::Node;
use crate::principal::{
    NON_IAM_PRINCIPAL, account_in_arn, person_behind, qualify_with_account, role_name_in_arn,
    session_name,
};
use crate::{CloudProvider, IndicatorKind, IndicatorRole, PrincipalKind};

/// Maximum number of callers. Further callers are not tied to their values.
const MAX_CALLERS: usize = 256;

/// Fields that name a user beside the name and the id, best first.
const NAMES: [&str; 3] = ["email_addr", "full_name", "uid_alt"];

impl Draft {
    /// Adds the owner of the credentials, with the unique id and AWS's type word, and returns the names. A principal of
    /// another account is named with its account, so that it is not confused with one of the alert's account.
    pub(crate) fn add_caller(
        &mut self,
        account: Option<&str>,
        name: Node<'_>,
        id: Node<'_>,
        word: Node<'_>,
    ) -> Vec<String> {
        self.add(IndicatorKind::Principal, IndicatorRole::Related, id);
        let Some(text) = name.str() else {
            return self.add(IndicatorKind::Principal, IndicatorRole::Actor, name);
        };
        let (id, word) = (id.str(), word.str());
        let account = account.and_then(|account| self.other_account(account));
        let whole = match account.or(self.caller_account.as_deref()) {
            Some(account) => {
                qualify_with_account(account, text, id, PrincipalKind::from_word_or_id(word, id))
            }
            None => text.to_owned(),
        };
        let added = self.add_derived(IndicatorKind::Principal, IndicatorRole::Actor, &whole, name);
        self.set_principal_kind(&whole, id, word);
        let person = person_behind(text, id);
        let person = person.and_then(|person| self.add_person(person));
        added.into_iter().chain(person).collect()
    }

    /// Adds the owner of credentials of which only the unique id is known, and the person behind that owner.
    pub(crate) fn add_unnamed_caller(&mut self, id: Node<'_>, word: Node<'_>) -> Vec<String> {
        let mut names = self.add(IndicatorKind::Principal, IndicatorRole::Actor, id);
        for name in &names {
            self.set_principal_kind(name, Some(name), word.str());
        }
        let person = id.str().and_then(|id| person_behind("", Some(id)));
        names.extend(person.and_then(|person| self.add_person(person)));
        names
    }

    /// Adds an actor that IAM does not know: the person behind a role, a user of a cluster.
    pub(crate) fn add_person(&mut self, name: &str) -> Option<String> {
        self.set_principal_kind(name, None, Some(NON_IAM_PRINCIPAL));
        self.add_text(IndicatorKind::Principal, IndicatorRole::Actor, name)
    }

    /// Adds an identity among the resources that may or may not be the actor.
    pub(crate) fn add_identity(&mut self, name: &str) {
        self.identities.extend(canonical_name(name));
    }

    /// Makes the identities among the resources actors, if the finding has an actor and none of its actors is a
    /// principal.
    pub(super) fn settle_identities(&mut self) {
        let identities = std::mem::take(&mut self.identities);
        let is_actor =
            |one: &&(IndicatorRole, IndicatorKind, String)| one.0 == IndicatorRole::Actor;
        let has_actor = self.indicators.iter().any(|one| is_actor(&one));
        let is_named = self.has_kind_in_role(IndicatorKind::Principal, IndicatorRole::Actor);
        if !has_actor || is_named || !self.credentials_acted() {
            return;
        }
        let actors = self.indicators.iter().filter(is_actor);
        let addresses = actors.filter(|one| one.1 == IndicatorKind::Ip);
        let addresses: Vec<String> = addresses.map(|one| one.2.clone()).collect();
        for name in &identities {
            let target = (
                IndicatorRole::Target,
                IndicatorKind::Principal,
                name.clone(),
            );
            self.indicators.remove(&target);
            self.add_text(IndicatorKind::Principal, IndicatorRole::Actor, name);
        }
        // With several identities the finding does not say who called from where.
        let record = CallRecord {
            principals: identities.into_iter().collect(),
            access_keys: Vec::new(),
            addresses,
        };
        if record.principals.len() == 1 {
            self.add_call(&record);
        }
    }

    /// Adds the callers of a record about an actor.
    pub(crate) fn add_call(&mut self, record: &CallRecord) {
        for caller in record.callers() {
            if self.callers.len() >= MAX_CALLERS {
                return;
            }
            self.callers.insert(caller);
        }
    }

    /// Adds the persons that a field names as those behind a shared or borrowed identity.
    pub(crate) fn add_persons(&mut self, node: Node<'_>) -> Vec<String> {
        let names = self.add(IndicatorKind::Principal, IndicatorRole::Actor, node);
        for name in &names {
            self.set_principal_kind(name, None, Some(NON_IAM_PRINCIPAL));
        }
        names
    }

    /// Adds credentials that are named beside the call that used them.
    pub(crate) fn add_credentials(&mut self, record: CallRecord) {
        self.add_call(&record);
        self.credentials.push(record);
    }

    /// Adds the addresses of a call to the only credentials that the finding names.
    pub(crate) fn add_caller_addresses(&mut self, addresses: Vec<String>) {
        if let [credentials] = self.credentials.as_slice() {
            let record = CallRecord {
                addresses,
                ..credentials.clone()
            };
            self.add_call(&record);
        }
    }

    /// Adds the user of an actor and the role that issued the session, as OCSF and GuardDuty's attack sequences write
    /// them.
    ///
    /// The ARN of the session issuer gives the account of the identity. Without it the account of the user counts,
    /// which is where the user was active and need not own it:
    /// <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Account.html>. A user who was active elsewhere is
    /// not assumed to belong to the alert's account.
    pub(crate) fn add_actor(&mut self, actor: Node<'_>) -> Vec<String> {
        let user = actor.at("user");
        let (name, id, word) = (user.at("name"), user.at("uid"), user.at("type"));
        let issuer = self.actor_text(actor.path("session/issuer"));
        let active = user.path("account/uid");
        let account = issuer
            .and_then(account_in_arn)
            .or_else(|| account_in_arn(id.str()?).filter(|account| !account.is_empty()))
            .or(active.str());
        let role = issuer.and_then(role_name_in_arn);
        // The caller of AssumeRole chooses the session name, so it identifies nobody.
        let session = session_name(id.str()).or_else(|| actor.path("session/uid").str());
        let mut names = match name.str() {
            Some(text) if Some(text) == session && role.is_some_and(|role| role != text) => {
                Vec::new()
            }
            Some(text) if Some(text) == session && role.is_none() && id.exists() => {
                self.add_caller(account, id, id, word)
            }
            Some(_) => self.add_caller(account, name, id, word),
            None => self.add_unnamed(user, role.is_some()),
        };
        if let Some(role) = role.filter(|role| name.str() != Some(*role)) {
            let role = Value::from(role);
            let word = Value::from("AssumedRole");
            names.extend(self.add_caller(account, Node::new(&role), id, Node::new(&word)));
        }
        names.extend(self.add_aliases(actor, &names));
        if issuer.is_none() && !names.is_empty() {
            self.add_account(active);
        }
        names
    }

    /// Adds a user without a name, or one that is not an object. Beside a role, the id adds no information.
    fn add_unnamed(&mut self, user: Node<'_>, has_role: bool) -> Vec<String> {
        if !user.is_object() {
            return self.add(IndicatorKind::Principal, IndicatorRole::Actor, user);
        }
        let id = user.at("uid");
        self.add(IndicatorKind::Principal, IndicatorRole::Related, id);
        let named = self.add(
            IndicatorKind::Principal,
            IndicatorRole::Actor,
            user.at("name"),
        );
        if !named.is_empty() {
            return named;
        }
        let names = NAMES.iter().map(|key| user.at(key));
        let names = names.chain(Some(id).filter(|_| !has_role));
        self.add_first(IndicatorKind::Principal, IndicatorRole::Actor, names)
    }

    /// Returns an AWS account that is not the alert's.
    pub(crate) fn other_account<'a>(&self, account: &'a str) -> Option<&'a str> {
        let is_id = |text: &str| text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_aws = match self.provider {
            CloudProvider::Aws => true,
            CloudProvider::Other => self.account.as_deref().is_some_and(is_id),
            CloudProvider::Gcp | CloudProvider::Azure => false,
        };
        let is_other = self.account.as_ref().is_some_and(|ours| ours != account);
        (is_aws && is_id(account) && is_other).then_some(account)
    }
}
